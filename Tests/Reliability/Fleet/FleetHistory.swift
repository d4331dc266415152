/// Judges what the machines of a fleet have read by what was acknowledged.
struct FleetHistory {
  /// When the server was away, or lost what it had, by the monotonic clock.
  struct Disturbance {
    let start: Int64
    let end: Int64
    /// Whether it has nothing after it.
    let empties: Bool
  }

  private struct Write {
    var start: Int64
    var acknowledged: Int64?
    var isRemoval: Bool
    /// When it expires at the earliest; 0: never.
    var expires: Int64
    /// When it has expired for certain; `nil`: not known.
    var isOver: Int64?
  }

  private var writes: [[Int: Write]] = Array(repeating: [:], count: FleetPlan.keys)
  /// In the order of their acknowledgements.
  private var acknowledgements: [[(end: Int64, version: Int)]] = Array(repeating: [], count: FleetPlan.keys)
  private let disturbances: [Disturbance]
  /// When threads of any machine were held up, in order of the beginnings.
  private let pauses: [FleetEvent]
  /// What the wall clock is ahead of the monotonic one.
  private let offset: Int64

  init(_ histories: [[FleetEvent]], _ disturbances: [Disturbance], offset: Int64) {
    self.disturbances = disturbances
    pauses = histories.joined().filter { $0.kind == .paused }.sorted { $0.start < $1.start }
    self.offset = offset
    for event in histories.joined() where event.kind == .begun || event.kind == .acknowledged {
      var write =
        writes[event.key][event.version]
        ?? Write(start: event.start, isRemoval: event.isRemoval, expires: event.expires)
      if event.kind == .acknowledged {
        write.acknowledged = event.end
        if event.expires != 0 { write.isOver = event.expires }
      }
      writes[event.key][event.version] = write
    }
    for key in 0..<FleetPlan.keys {
      var greatest = 0
      let acknowledged = writes[key].compactMap { version, write in
        write.acknowledged.map { (end: $0, version: version) }
      }
      acknowledgements[key] = acknowledged.sorted { $0.end < $1.end }.map { end, version in
        greatest = max(greatest, version)
        return (end, greatest)
      }
    }
  }

  /// The latest version that was acknowledged before a moment, and when.
  private func latest(_ key: Int, before time: Int64) -> (end: Int64, version: Int)? {
    let all = acknowledgements[key]
    var (low, high) = (0, all.count)
    while low < high {
      let middle = (low + high) / 2
      if all[middle].end < time { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : all[low - 1]
  }

  /// For how long threads were held up at most, all together, near a moment: what is promised takes threads that run.
  private func heldUp(from start: Int64, to end: Int64) -> Int64 {
    pauses.reduce(0) { $0 + ($1.end >= start && $1.start <= end ? $1.end - $1.start : 0) }
  }

  /// What is wrong about a read; `nil` if nothing is.
  func finding(_ read: FleetEvent, by reader: Int) -> String? {
    let key = FleetPlan.name(read.key)
    func describe(_ what: String) -> String { "machine \(reader), \(key), version \(read.version): \(what)" }
    if read.version != 0 {
      guard let write = writes[read.key][read.version] else { return describe("nobody wrote it") }
      if write.start > read.end { return describe("read before it was written") }
      if write.isRemoval, !FleetPlan.isLoaded(read.key) { return describe("it is a removal") }
      if let isOver = write.isOver, read.start + offset > isOver + 2_000_000 {
        return describe("expired \((read.start + offset - isOver) / 1_000_000) ms before")
      }
    }
    guard var bound = FleetPlan.bound(read.key, reader: reader) else { return nil }
    if bound > 0 { bound += heldUp(from: read.start - bound - FleetPlan.recovery, to: read.end) }
    guard let latest = latest(read.key, before: read.start - bound)
    else { return nil }
    if read.version == 0 {
      return isExplained(read, since: latest) ? nil : describe("version \(latest.version) is gone")
    }
    if read.version < latest.version {
      return describe(
        "version \(latest.version) was acknowledged \((read.start - latest.end) / 1_000_000) ms before, "
          + "and \(bound / 1_000_000) ms are allowed")
    }
    return nil
  }

  /// Whether there may be nothing.
  private func isExplained(_ read: FleetEvent, since latest: (end: Int64, version: Int)) -> Bool {
    if FleetPlan.isLoaded(read.key) { return false }
    for disturbance in disturbances {
      // It was written before, or meanwhile.
      let written = writes[read.key][latest.version]?.start ?? latest.end
      if disturbance.empties, disturbance.end >= written, disturbance.start <= read.end { return true }
      // The server cannot be asked, or is not asked yet.
      if disturbance.start <= read.end, disturbance.end + FleetPlan.recovery >= read.start { return true }
    }
    if heldUp(from: read.start - FleetPlan.recovery, to: read.end) > 0 { return true }
    // The latest, or what was begun since.
    return writes[read.key].contains { version, write in
      guard version >= latest.version, write.start <= read.end else { return false }
      return write.isRemoval || write.expires != 0 && read.end + offset >= write.expires - 2_000_000
        // A write that failed leaves nothing behind on its machine, and may have had its effect or not.
        || write.acknowledged == nil || write.acknowledged! > read.start
    }
  }
}
