import Foundation

/// What the keys of one fleet are called on the server.
///
/// The prefix is in braces: so all of them are in one slot of a cluster, which the scripts need. The number is of the
/// format: fleets of another one have other names, and see nothing of this one.
struct RemoteNames: Sendable {
  static let format = 1

  private let base: String
  private let entryPrefix: String
  let changes: String
  /// Holds a random text as long as the server has the fleet's data.
  let incarnation: String
  private let leasePrefix: String

  init(prefix: String) {
    base = "{\(prefix)}:\(Self.format):"
    entryPrefix = base + "e:"
    leasePrefix = base + "l:"
    changes = base + "changes"
    incarnation = base + "incarnation"
  }

  func entry(_ key: String) -> String { entryPrefix + key }
  func lease(_ key: String) -> String { leasePrefix + key }

  /// Where the number of the last write of a queue is.
  func queue(_ identifier: String) -> String { base + "q:" + identifier }

  /// Where the revision of a queue's removal of many is, until that is done.
  func removal(_ identifier: String) -> String { base + "r:" + identifier }

  /// What match the names of the entries whose keys begin so, and those of their leases, for `SCAN`.
  func patterns(ofKeysWithPrefix prefix: String) -> (entries: String, leases: String) {
    (Self.pattern(entryPrefix + prefix), Self.pattern(leasePrefix + prefix))
  }

  private static func pattern(_ prefix: String) -> String {
    var pattern = ""
    for character in prefix.unicodeScalars {
      if "*?[]\\^-".unicodeScalars.contains(character) { pattern += "\\" }
      pattern.unicodeScalars.append(character)
    }
    return pattern + "*"
  }
}
