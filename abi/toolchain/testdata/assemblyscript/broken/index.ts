// A plug-in that does not compile.

undeclared();
