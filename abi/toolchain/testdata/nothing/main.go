// Command nothing imports the SDK and registers nothing.
package main

import _ "tidemark/sdk/go"

func main() {}
