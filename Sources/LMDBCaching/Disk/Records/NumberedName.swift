/// File names made of a number in 16 hexadecimal digits and a suffix.
struct NumberedName {
  let suffix: String

  func name(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits + suffix
  }

  func number(of name: String) -> UInt64? {
    guard name.hasSuffix(suffix), name.utf8.count == 16 + suffix.utf8.count else { return nil }
    let digits = name.dropLast(suffix.count)
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) else { return nil }
    return UInt64(digits, radix: 16)
  }
}
