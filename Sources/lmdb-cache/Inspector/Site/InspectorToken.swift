/// A secret of 128 random bits, as text.
struct InspectorToken: Sendable {
  let text: String

  init() {
    var generator = SystemRandomNumberGenerator()
    text = (0..<2).map { _ in
      let part = String(generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - part.count) + part
    }.joined()
  }

  /// Takes constant time.
  func matches(_ other: String) -> Bool {
    let (expected, given) = (Array(text.utf8), Array(other.utf8))
    guard given.count == expected.count else { return false }
    var difference: UInt8 = 0
    for (first, second) in zip(expected, given) { difference |= first ^ second }
    return difference == 0
  }
}
