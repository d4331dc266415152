public import Foundation

/// How objects that conform to `NSCoding` are archived and read.
public struct ObjectCoding: Sendable {
  /// What objects are written as. Entries are read by the format they were written in, whatever is set here. An archive of
  /// plain data (strings, numbers, data, dates, URLs, UUIDs and collections of them) is read with `value(_:forKey:)` as well.
  public enum Archiving: Hashable, Sendable {
    /// CBOR, by `CBORKeyedArchiver` of the module `CBORCoding`; on Apple's platforms the same as ``keyedArchive``.
    case cbor
    /// The format of `NSKeyedArchiver`, for exchange with programs that use it. On Linux Foundation takes a hundred
    /// times as long for it or more, and loses the mutability of strings, data and dictionaries.
    ///
    /// An object that could not be read back is not written: each archive is read once when it is made. On Linux each
    /// `encode(with:)` is called twice, to find objects for which Foundation ends the process, such as those of a class
    /// that is nested in another type, and a decimal number or an `NSError` within another object.
    ///
    /// On Linux such archives, binary and XML, are read by a coder of this package: where `NSKeyedUnarchiver` ends the
    /// process, an archive that was damaged or made up is an error, in time and memory proportional to its length. An
    /// error there are also objects that refer to each other in a circle, and a class of one's own that encodes itself
    /// as one of Foundation's collections does. What is decoded are Foundation's objects, which cast to Swift's types;
    /// the coder is no `NSKeyedUnarchiver`, but goes by the classes set with `NSKeyedUnarchiver.setClass(_:forClassName:)`.
    ///
    case keyedArchive
  }

  /// What objects are written as, unless ``customArchive`` is set. Strings, numbers, data, dates, URLs and UUIDs are
  /// with ``Archiving/cbor`` written as the values that they are, and can be read as such.
  public var archiving = Archiving.cbor

  /// Classes that may be read besides Foundation's value classes, each conforming to `NSSecureCoding`.
  ///
  /// `nil`, the default, reads any class that the archive names, as YYCache does. Give a list where
  /// somebody else could write into the directory.
  public var allowedClasses: [any (NSObject & NSSecureCoding).Type]?

  /// Archives in place of what ``archiving`` says, as YYCache's `customArchiveBlock`.
  public var customArchive: (@Sendable (any NSCoding) throws -> Data)?

  /// Unarchives what ``customArchive`` wrote, as YYCache's `customUnarchiveBlock`.
  public var customUnarchive: (@Sendable (Data) throws -> any NSCoding)?

  public init() {}
}
