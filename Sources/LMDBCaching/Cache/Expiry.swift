public import Foundation

/// When an entry expires. From then on it counts as missing.
public struct Expiry: Sendable, Equatable {
  enum Kind: Equatable {
    case never
    case after(Duration)
    case at(Date)
    case unchanged
  }

  let kind: Kind

  /// Never.
  public static let never = Expiry(kind: .never)
  /// The current expiry of the entry under the key; never for a new one.
  public static let unchanged = Expiry(kind: .unchanged)

  /// A duration after the write; zero or less: at once.
  public static func after(_ duration: Duration) -> Expiry { Expiry(kind: .after(duration)) }

  /// A wall-clock time. A date that is not a number is refused with `.invalidArgument`.
  public static func at(_ date: Date) -> Expiry { Expiry(kind: .at(date)) }

  /// Nanoseconds since 1970, 0 for never, as is `current`, the present entry's expiry.
  func nanoseconds(in store: DiskStore, current: @autoclosure () throws(CacheError) -> Int64) throws(CacheError)
    -> Int64
  {
    switch kind {
    case .never: 0
    case .after(let duration): store.expiry(after: duration)
    case .at(let date): try Self.nanoseconds(date)
    case .unchanged: try current()
    }
  }

  private static func nanoseconds(_ date: Date) throws(CacheError) -> Int64 {
    let nanoseconds = (date.timeIntervalSince1970 * 1e9).rounded()
    if nanoseconds.isNaN {
      throw CacheError(.invalidArgument, "The time of an expiry is not a number. Use Expiry.never for what stays.")
    }
    if nanoseconds >= 9.2e18 { return .max }
    // 0 means never, and before 1970 everything has expired.
    return nanoseconds < 1 ? 1 : Int64(nanoseconds)
  }
}
