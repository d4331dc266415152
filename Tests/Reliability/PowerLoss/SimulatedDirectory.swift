import TestSupport

/// A directory of a simulated disk: the names that are on the disk for certain, and changes of names that a power cut
/// may take or leave.
final class SimulatedDirectory {
  enum Node {
    case file(SimulatedFile)
    case directory(SimulatedDirectory)

    fileprivate var identity: ObjectIdentifier {
      switch self {
      case .file(let file): ObjectIdentifier(file)
      case .directory(let directory): ObjectIdentifier(directory)
      }
    }
  }

  private struct Change {
    /// Of all changes of names on the disk, in the order they were made.
    let number: Int
    /// What goes, and what comes: a rename is both.
    var removed: (name: String, node: Node)?
    var added: (name: String, node: Node)?
  }

  private var durable: [String: Node]
  private var pending: [Change] = []
  /// As the running system sees it.
  private(set) var current: [String: Node]

  init(_ entries: [String: Node] = [:]) {
    durable = entries
    current = entries
  }

  func change(_ number: Int, removing removed: String? = nil, adding added: (name: String, node: Node)? = nil) {
    var change = Change(number: number, added: added)
    if let removed, let node = current.removeValue(forKey: removed) { change.removed = (removed, node) }
    if let added { current[added.name] = added.node }
    pending.append(change)
  }

  func synchronize() {
    for change in pending { Self.apply(change, to: &durable) }
    pending = []
  }

  /// The names as they might be found.
  ///
  /// - Parameter cut: Set for a file system that writes changes of names in their order, as ext4, XFS and Btrfs do:
  ///   the first change that is lost. Nil: every change is there or not, whatever the others are.
  func afterPowerCut(keeping percent: Int, cut: Int?, _ random: inout SeededRandom) -> [String: Node] {
    var entries = durable
    for change in pending where cut.map({ change.number < $0 }) ?? (random.below(100) < percent) {
      Self.apply(change, to: &entries)
    }
    return entries
  }

  private static func apply(_ change: Change, to entries: inout [String: Node]) {
    if let (name, node) = change.removed, entries[name]?.identity == node.identity { entries[name] = nil }
    if let added = change.added { entries[added.name] = added.node }
  }
}
