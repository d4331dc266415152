public import Foundation

/// When an entry expires. From then on it counts as missing.
public struct Expiry: Sendable, Equatable {
  enum Kind: Equatable {
    case never
    case after(Duration)
    case sliding(Duration)
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

  /// A duration after the last read with the same expiry, ``LMDBCache/value(_:forKey:expires:)``, or the write.
  ///
  /// To save writes, a read moves the expiry only if that gains a tenth of the duration, so the entry lives for at least
  /// nine tenths of it after such a read. An entry that expires later, or never, is unchanged.
  public static func sliding(_ duration: Duration) -> Expiry { Expiry(kind: .sliding(duration)) }

  /// A wall-clock time. A date that is not a number is refused with `.invalidArgument`.
  public static func at(_ date: Date) -> Expiry { Expiry(kind: .at(date)) }

  /// Nanoseconds since 1970, 0 for never, as is `current`, the present entry's expiry.
  func nanoseconds(in store: DiskStore, current: Int64) throws(CacheError) -> Int64 {
    switch kind {
    case .never: 0
    case .after(let duration): store.expiry(after: duration)
    case .sliding(let duration) where duration <= .zero:
      throw CacheError(
        .invalidArgument,
        "A sliding expiry must be positive, but was \(duration). To delete the entry, use removeValue(forKey:).")
    case .sliding(let duration): store.expiry(after: duration)
    case .at(let date): try Self.nanoseconds(date)
    case .unchanged: current
    }
  }

  private static func nanoseconds(_ date: Date) throws(CacheError) -> Int64 {
    let nanoseconds = (date.timeIntervalSince1970 * 1e9).rounded()
    if nanoseconds.isNaN {
      throw CacheError(.invalidArgument, "The date of an expiry is not a number. For no expiry, use Expiry.never.")
    }
    if nanoseconds >= 9.2e18 { return .max }
    // 0 means never, and before 1970 everything has expired.
    return nanoseconds < 1 ? 1 : Int64(nanoseconds)
  }
}

/// The condition of a write, checked atomically with it.
public enum WriteCondition: Sendable {
  /// The entry is missing or has expired. Of several writers, in any processes, one succeeds.
  case absent
  /// The entry still has this version, from ``LMDBCache/entry(forKey:)``: compare-and-set.
  case version(EntryVersion)
}

/// The entries to remove.
public enum CacheSelection: Sendable {
  /// Every entry.
  case all
  /// Every entry whose key starts with the prefix, byte for byte.
  case prefix(String)
  /// Every entry stored with the tag.
  case tag(String)
  /// Every entry stored with one of the tags.
  case tags([String])
  /// The entries under the keys.
  case keys([String])
  /// Every entry stored before the date, which is rounded down to the second, regardless of later reads.
  case createdBefore(Date)
}
