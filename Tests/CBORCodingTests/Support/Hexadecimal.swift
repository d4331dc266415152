import TestSupport

extension [UInt8] {
  /// Parses lowercase digits.
  init(hex: String) {
    let digits = Array(hex.utf8)
    func digit(_ place: Int) -> UInt8 {
      switch digits[place] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits[place] - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digits[place] - UInt8(ascii: "a") + 10
      default: preconditionFailure("not hexadecimal, in lower case: \(hex.prefix(100))")
      }
    }
    precondition(digits.count % 2 == 0)
    self.init(count: digits.count / 2) { digit($0 * 2) << 4 | digit($0 * 2 + 1) }
  }
}

extension Sequence<UInt8> {
  var hex: String {
    map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}
