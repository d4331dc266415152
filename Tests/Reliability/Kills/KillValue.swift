/// A value that identifies its write and its writer, with every byte determined.
struct KillValue: Hashable {
  let writer: Int
  let number: Int

  func text(key: String, size: Int) -> String {
    let head = "\(key)#\(writer).\(number);"
    let letter = Character(UnicodeScalar(UInt8(97 + number % 26)))
    return head + String(repeating: letter, count: max(0, size - head.utf8.count))
  }

  init(writer: Int, number: Int) {
    self.writer = writer
    self.number = number
  }

  /// nil: no writer stored this text under this key.
  init?(_ text: String, key: String) {
    let utf8 = text.utf8
    guard let hash = utf8.firstIndex(of: UInt8(ascii: "#")), let end = utf8.firstIndex(of: UInt8(ascii: ";")),
      hash < end, text[..<hash] == key
    else { return nil }
    let numbers = text[utf8.index(after: hash)..<end].split(separator: ".").map { Int($0) }
    guard numbers.count == 2, let writer = numbers[0], let number = numbers[1] else { return nil }
    let letter = UInt8(97 + number % 26)
    guard utf8[utf8.index(after: end)...].allSatisfy({ $0 == letter }) else { return nil }
    self.writer = writer
    self.number = number
  }
}
