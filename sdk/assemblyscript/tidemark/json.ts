// The little JSON that the SDK writes.

const HEX = "0123456789abcdef";

/** Quotes a text. */
export function jsonString(text: string): string {
  let out = '"';
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c == 0x22 || c == 0x5C) out += "\\" + text.charAt(i); // a quote, a backslash
    else if (c < 0x20) out += "\\u00" + HEX.charAt(c >> 4) + HEX.charAt(c & 15);
    else out += text.charAt(i);
  }
  return out + '"';
}
