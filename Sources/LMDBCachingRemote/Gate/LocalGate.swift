import Platform
public import Synchronization

/// Whether what is local may be served without a look at anything else: one load for a hit.
@usableFromInline
final class LocalGate: Sendable {
  /// Why not.
  struct Reason: OptionSet {
    let rawValue: UInt8

    /// Entries are held against the server before they are served.
    static let checking = Reason(rawValue: 1)
    /// Nothing is heard of the fleet, and there is a limit to that.
    static let unheard = Reason(rawValue: 2)
    /// Writes wait to be sent, which come before what is local.
    static let waiting = Reason(rawValue: 4)
    /// Nobody follows the fleet any more.
    static let closed = Reason(rawValue: 8)
  }

  @usableFromInline let bits = Atomic<UInt8>(0)
  /// Until when local values may be served while nothing is heard, by the monotonic clock.
  private let servedUntil = Atomic<Int64>(.min)

  /// Whether everything may be served.
  @inlinable
  var isOpen: Bool { bits.load(ordering: .acquiring) == 0 }

  func has(_ reason: Reason) -> Bool { bits.load(ordering: .acquiring) & reason.rawValue != 0 }

  func set(_ reason: Reason, _ isSet: Bool) {
    if isSet {
      bits.bitwiseOr(reason.rawValue, ordering: .acquiringAndReleasing)
    } else {
      bits.bitwiseAnd(~reason.rawValue, ordering: .acquiringAndReleasing)
    }
  }

  /// Nothing is heard of the fleet; what is local may be served until a moment, in nanoseconds of the monotonic clock.
  func serveUnheard(until end: Int64) {
    servedUntil.store(end, ordering: .releasing)
    set(.unheard, true)
  }

  /// Whether local values may be served, as far as it depends on what is heard of the fleet.
  var servesUnheard: Bool {
    !has(.unheard) || MonotonicClock.nanoseconds < servedUntil.load(ordering: .acquiring)
  }
}
