/// One change, in the words of the log's marks.
enum PowerLossChange: Equatable {
  case set(Int)
  case remove(Int)
  /// A batch: the keys it sets, and those it removes.
  case batch(set: [Int], removed: [Int])
  case removeAll
  case removePrefix
  /// Trims to this many entries.
  case trim(Int)
  /// These change nothing readable. Upkeep returns unused space: emptied segments of the value log, holes in the
  /// database and in the journal.
  case flush
  case reopen
  case upkeep

  static let prefix = "prefix/"

  var text: String {
    func list(_ numbers: [Int]) -> String { numbers.map { "\($0)" }.joined(separator: ",") }
    return switch self {
    case .set(let index): "set \(index)"
    case .remove(let index): "remove \(index)"
    case .batch(let set, let removed): "batch ,\(list(set)) ,\(list(removed))"
    case .removeAll: "removeAll"
    case .removePrefix: "removePrefix"
    case .trim(let count): "trim \(count)"
    case .flush: "flush"
    case .reopen: "reopen"
    case .upkeep: "upkeep"
    }
  }

  init?(_ words: ArraySlice<Substring>) {
    func number(_ offset: Int) -> Int { Int(words[words.startIndex + offset])! }
    func list(_ offset: Int) -> [Int] { words[words.startIndex + offset].split(separator: ",").map { Int($0)! } }
    switch words.first {
    case "set": self = .set(number(1))
    case "remove": self = .remove(number(1))
    case "batch": self = .batch(set: list(1), removed: list(2))
    case "removeAll": self = .removeAll
    case "removePrefix": self = .removePrefix
    case "trim": self = .trim(number(1))
    case "flush": self = .flush
    case "reopen": self = .reopen
    case "upkeep": self = .upkeep
    default: return nil
    }
  }

  /// Updates the number of the last write of every key, with this change as the `number`-th one.
  func apply(_ number: Int, to state: inout [Int: Int]) {
    switch self {
    case .set(let index): state[index] = number
    case .remove(let index): state[index] = nil
    case .batch(let set, let removed):
      for index in set { state[index] = number }
      for index in removed { state[index] = nil }
    case .removeAll: state = [:]
    case .removePrefix: state = state.filter { !PowerLossEntries.key($0.key).hasPrefix(Self.prefix) }
    case .trim, .flush, .reopen, .upkeep: break
    }
  }
}
