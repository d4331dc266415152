import TestSupport

/// A directory of a simulated disk: its durable names, and name changes that a power cut may keep or lose.
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
    /// Its position among all name changes of the disk.
    let number: Int
    /// A rename has both.
    var removed: (name: String, node: Node)?
    var added: (name: String, node: Node)?
  }

  private var durable: [String: Node]
  private var pending: [Change] = []
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

  /// The names after a power cut.
  ///
  /// - Parameter cut: The first lost change, for a file system that keeps name changes in order (ext4, XFS, Btrfs). If
  ///   nil, each change survives independently.
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
