public import Foundation

/// How objects that conform to `NSCoding` are archived and read.
public struct ObjectCoding: Sendable {
  /// The format for writing objects. Reading uses the format of each entry. `value(_:forKey:)` can read archives of
  /// plain data (strings, numbers, data, dates, URLs, UUIDs and collections of them).
  public enum Archiving: Hashable, Sendable {
    /// CBOR, by `CBORKeyedArchiver` of the module `CBORCoding`; on Apple platforms the same as ``keyedArchive``.
    case cbor
    /// The format of `NSKeyedArchiver`, for exchange with programs that use it. On Linux it takes Foundation a hundred
    /// times as long or more, and loses the mutability of strings, data and dictionaries.
    ///
    /// Objects that cannot be read back are not written: each new archive is read once. On Linux each `encode(with:)`
    /// is called twice, to detect objects for which Foundation ends the process, such as those of a nested class, and a
    /// decimal number or an `NSError` within another object.
    ///
    /// On Linux a coder of this package reads such archives, binary and XML: a damaged or forged archive is an error,
    /// in time and memory proportional to its length, where `NSKeyedUnarchiver` ends the process. Circular references
    /// are errors too, as is a custom class that encodes itself like a Foundation collection. Decoded objects are
    /// Foundation's, which cast to Swift's types. The coder is not an `NSKeyedUnarchiver`, but uses the classes set
    /// with `NSKeyedUnarchiver.setClass(_:forClassName:)`.
    case keyedArchive
  }

  /// The format for writing objects, unless ``customArchive`` is set. With ``Archiving/cbor``, strings, numbers, data,
  /// dates, URLs and UUIDs are written as values, and can be read as such.
  public var archiving = Archiving.cbor

  /// Classes that may be read besides Foundation's value classes, each conforming to `NSSecureCoding`.
  ///
  /// `nil`, the default, reads any class named by the archive, as YYCache does. Set a list if others can write into the
  /// directory.
  public var allowedClasses: [any (NSObject & NSSecureCoding).Type]?

  /// Archives instead of ``archiving``, as YYCache's `customArchiveBlock`.
  public var customArchive: (@Sendable (any NSCoding) throws -> Data)?

  /// Unarchives the data of ``customArchive``, as YYCache's `customUnarchiveBlock`.
  public var customUnarchive: (@Sendable (Data) throws -> any NSCoding)?

  public init() {}
}
