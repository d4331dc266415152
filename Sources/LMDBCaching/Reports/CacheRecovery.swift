public import Foundation

/// What was wrong with a cache's file when it was opened, and where it is now: the cache was made anew.
///
/// Entries of the damaged file are gone from the cache. Writes that were acknowledged and still in a journal are not.
public struct CacheRecovery: Sendable, CustomStringConvertible {
  /// What is wrong with the file; for people.
  public let finding: String
  /// The page of the file where it was found, if it is in one.
  public let page: UInt64?
  /// The folder that the file and its values were moved to, in the cache's directory. Of several recoveries the
  /// last one's is kept. Nothing in it is needed.
  public let quarantine: URL
  /// When this was, by the cache's clock.
  public let date: Date

  public var description: String { "\(finding); the damaged files are in \(quarantine.path)" }
}
