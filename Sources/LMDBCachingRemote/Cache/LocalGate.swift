public import Synchronization

/// Whether what is local may be served without a look at anything else: one load for a hit.
@usableFromInline
final class LocalGate: Sendable {
  private static let checking: UInt8 = 1
  private static let unheard: UInt8 = 2

  @usableFromInline let bits = Atomic<UInt8>(0)

  /// Whether everything may be served.
  @inlinable
  var isOpen: Bool { bits.load(ordering: .acquiring) == 0 }

  /// Whether entries are held against the server.
  var isChecking: Bool { bits.load(ordering: .acquiring) & Self.checking != 0 }

  /// Whether local values are served though nothing may have been heard of the fleet.
  var servesUnheard: Bool { bits.load(ordering: .acquiring) & Self.unheard == 0 }

  func set(isChecking: Bool) { set(Self.checking, isChecking) }
  func set(servesUnheard: Bool) { set(Self.unheard, !servesUnheard) }

  private func set(_ bit: UInt8, _ isSet: Bool) {
    if isSet {
      bits.bitwiseOr(bit, ordering: .acquiringAndReleasing)
    } else {
      bits.bitwiseAnd(~bit, ordering: .acquiringAndReleasing)
    }
  }
}
