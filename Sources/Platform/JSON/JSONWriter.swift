/// Writes JSON in one form only (keys sorted by their UTF-8 bytes, no spaces), so that equal values are equal bytes.
package struct JSONWriter {
  private var bytes: [UInt8] = []

  package static func bytes(of value: JSONValue) -> [UInt8] {
    var writer = JSONWriter()
    writer.write(value)
    return writer.bytes
  }

  private mutating func write(_ value: JSONValue) {
    switch value {
    case .null: write("null")
    case .bool(let bool): write(bool ? "true" : "false")
    case .number(let text): write(text)
    case .string(let text): Self.append(text, to: &bytes)
    case .array(let elements): write(elements, "[", "]") { $0.write($1) }
    case .object(let members):
      write(members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }, "{", "}") { writer, member in
        Self.append(member.key, to: &writer.bytes)
        writer.write(":")
        writer.write(member.value)
      }
    }
  }

  private mutating func write<T>(
    _ elements: [T], _ start: String, _ end: String, _ body: (inout JSONWriter, T) -> Void
  ) {
    write(start)
    for (index, element) in elements.enumerated() {
      if index > 0 { write(",") }
      body(&self, element)
    }
    write(end)
  }

  private mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

  package static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      // Controls, and DEL, which means something to some terminals.
      case 0..<0x20, 0x7f:
        bytes += "\\u00".utf8
        for digit in [byte >> 4, byte & 15] { bytes.append(digit < 10 ? 48 + digit : 87 + digit) }
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
