/// A hex dump: sixteen bytes a line, with offsets and ASCII.
enum HexDump {
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    var line: [UInt8] = []
    var place = 0
    func end() {
      text += hexadecimal(place, digits: 8) + "  "
      for index in 0..<16 {
        text += index < line.count ? hexadecimal(Int(line[index]), digits: 2) : "  "
        text += index == 7 ? "  " : " "
      }
      text += " " + line.map { 0x20...0x7E ~= $0 ? String(UnicodeScalar($0)) : "." }.joined() + "\n"
      place += line.count
      line = []
    }
    for byte in bytes {
      line.append(byte)
      if line.count == 16 { end() }
    }
    if !line.isEmpty { end() }
    return text
  }

  private static func hexadecimal(_ number: Int, digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}
