public import Foundation

/// The damage of a cache's file that opening found, and the file's new place; the cache was recreated.
///
/// Entries of the damaged file are gone. Acknowledged writes that were still in a journal are kept.
public struct CacheRecovery: Sendable, CustomStringConvertible {
  /// A description of the damage.
  public let finding: String
  /// The damaged page of the file, if known.
  public let page: UInt64?
  /// The folder with the damaged file and its values, in the cache's directory. Only the last recovery's is kept, and
  /// nothing in it is needed.
  public let quarantine: URL
  /// When this happened, by the cache's clock.
  public let date: Date

  public var description: String { "\(finding); the damaged files are in \(quarantine.path)" }
}
