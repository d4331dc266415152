/// Compares the cache after a cycle of kills with the acknowledged writes.
struct KillJudge {
  /// A writer, and how many of its writes were acknowledged; one more may have taken effect.
  struct Writer {
    var load: KillLoad
    var acknowledged: Int
  }

  let writers: [Writer]
  let before: [String: KillValue]

  func faults(in contents: [String: KillValue]) -> [String] {
    let states = writers.map { writer in
      [0, 1].map { KillState(writer.load, count: writer.acknowledged + $0) }
    }
    let clears = states.indices.filter { states[$0][1].clears > 0 }
    var faults: [String] = []
    for (index, writer) in writers.enumerated() {
      faults += ownFaults(writer, states[index], in: contents, isClearedByOthers: clears.contains { $0 != index })
    }
    for key in (0..<KillOperation.sharedKeys).map(KillOperation.sharedKey) {
      faults += sharedFaults(key, states, contents[key], isCleared: !clears.isEmpty)
    }
    let prefixes = Set(writers.map { KillOperation.ownPrefix($0.load.writer) } + ["shared/"])
    for (key, value) in before where !prefixes.contains(where: { key.hasPrefix($0) }) && contents[key] != value {
      if contents[key] == nil && !clears.isEmpty { continue }
      faults.append("\(key), of a cycle before, is \(text(contents[key])), not \(text(value))")
    }
    for (key, value) in contents where !prefixes.contains(where: { key.hasPrefix($0) }) && before[key] == nil {
      faults.append("\(key) came back as \(text(value))")
    }
    return faults
  }

  /// A writer's own keys match the state after its last acknowledged write or after the next one, so batches and prefix
  /// removals are atomic.
  private func ownFaults(
    _ writer: Writer, _ states: [KillState], in contents: [String: KillValue], isClearedByOthers: Bool
  ) -> [String] {
    let name = writer.load.writer
    let prefix = KillOperation.ownPrefix(name)
    let found = contents.filter { $0.key.hasPrefix(prefix) }
    let expected = states.map { $0.own(name) }
    if expected.contains(found) { return [] }
    if isClearedByOthers {
      // Another writer may have removed some keys; the rest must be current.
      let isPossible = expected.contains { expected in found.allSatisfy { expected[$0.key] == $0.value } }
      if isPossible { return [] }
    }
    return Set(found.keys).union(expected[0].keys).sorted().filter { found[$0] != expected[0][$0] }.map {
      "writer \(name), \(writer.acknowledged) acknowledged: \($0) is \(text(found[$0])), not "
        + "\(text(expected[0][$0])) or \(text(expected[1][$0]))"
    }
  }

  /// Commits order the writes of several processes to one key: the last write of one of them stays.
  private func sharedFaults(
    _ key: String, _ states: [[KillState]], _ found: KillValue?, isCleared: Bool
  ) -> [String] {
    var candidates: [KillValue?] = isCleared ? [nil] : []
    var isWritten = false
    for state in states {
      for (index, state) in state.enumerated() {
        guard let last = state.last[key] else { continue }
        candidates.append(last)
        if index == 0 { isWritten = true }
      }
    }
    if !isWritten { candidates.append(before[key]) }
    if candidates.contains(found) { return [] }
    return ["\(key) is \(text(found)), not one of \(candidates.map(text))"]
  }

  private func text(_ value: KillValue?) -> String { value.map { "\($0.writer).\($0.number)" } ?? "nothing" }
}
