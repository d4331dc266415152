public import Foundation

/// How objects that conform to `NSCoding` are archived and read.
public struct ObjectCoding: Sendable {
  /// Classes that may be read besides Foundation's value classes, each conforming to `NSSecureCoding`.
  ///
  /// `nil`, the default, reads any class that the archive names, as YYCache does. Give a list where
  /// somebody else could write into the directory.
  public var allowedClasses: [any (NSObject & NSSecureCoding).Type]?

  /// Archives in place of `NSKeyedArchiver`, as YYCache's `customArchiveBlock`.
  public var customArchive: (@Sendable (any NSCoding) throws -> Data)?

  /// Unarchives what ``customArchive`` wrote, as YYCache's `customUnarchiveBlock`.
  public var customUnarchive: (@Sendable (Data) throws -> any NSCoding)?

  public init() {}
}
