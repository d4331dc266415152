import Foundation

/// Which change of the fleet made a value: the identifier of its entry in the stream of changes, packed so that the
/// order stays. Milliseconds of the server's clock in the upper 44 bits, which last until the year 2527, and a count in
/// the others: a server that made more than a million changes in a millisecond would be another one.
struct RemoteRevision: Hashable, Comparable, Sendable {
  private static let countBits: UInt64 = 20

  let packed: UInt64

  init(packed: UInt64) { self.packed = packed }

  static let none = RemoteRevision(packed: 0)

  /// Reads `1700000000000-3`. `nil` for anything else.
  init?(_ bytes: some Collection<UInt8>) {
    var time: UInt64?
    var number: UInt64 = 0
    var digits = 0
    for byte in bytes {
      if byte == UInt8(ascii: "-"), time == nil, digits > 0 {
        time = number
        (number, digits) = (0, 0)
        continue
      }
      // No number of so few digits overflows.
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), digits < 18 else { return nil }
      number = number * 10 + UInt64(byte - UInt8(ascii: "0"))
      digits += 1
    }
    guard let time, digits > 0, time < 1 << (64 - Self.countBits), number < 1 << Self.countBits else { return nil }
    packed = time << Self.countBits | number
    // None would be later.
    if packed == .max { return nil }
  }

  var text: String { "\(packed >> Self.countBits)-\(packed & (1 << Self.countBits - 1))" }

  /// How much later it is than another one, in milliseconds of the server's clock.
  func milliseconds(since other: RemoteRevision) -> Int64 {
    Int64(packed >> Self.countBits) - Int64(other.packed >> Self.countBits)
  }

  static func < (first: RemoteRevision, second: RemoteRevision) -> Bool { first.packed < second.packed }
}
