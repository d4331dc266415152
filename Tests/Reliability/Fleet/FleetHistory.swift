/// Checks a fleet's reads against its acknowledged writes.
struct FleetHistory {
  /// When the server was away, or lost data, by the monotonic clock.
  struct Disturbance: Sendable {
    let start: Int64
    let end: Int64
    var empties = false
    /// Whether a replica took over, which may lack the last writes.
    var isFailover = false
  }

  private struct Write {
    let machine: Int
    var start: Int64
    var acknowledged: Int64?
    /// When it was certainly on the server.
    var arrived: Int64?
    var isRemoval: Bool
    /// Its earliest expiry; 0 means never.
    var expires: Int64
    /// When it has certainly expired; `nil` if unknown.
    var isOver: Int64?
    var mayBeLost = false
  }

  private typealias Acknowledgement = (end: Int64, version: Int)

  private var writes: [[Int: Write]] = Array(repeating: [:], count: FleetPlan.keys)
  /// By time, each with the greatest version so far: as the writing machine sees the key, and as the others do. Only
  /// for keys that a single machine writes.
  private var acknowledged: [[Acknowledgement]] = Array(repeating: [], count: FleetPlan.keys)
  private var arrived: [[Acknowledgement]] = Array(repeating: [], count: FleetPlan.keys)
  private let disturbances: [Disturbance]
  /// When threads of any machine were held up, ordered by start.
  private let pauses: [FleetEvent]
  /// Wall clock minus monotonic clock.
  private let offset: Int64
  /// Extra time for a machine whose cores are shared by many threads.
  private let slack: Int64

  /// - Parameter histories: One for each machine.
  init(_ histories: [[FleetEvent]], _ disturbances: [Disturbance], offset: Int64, slack: Int64 = 500_000_000) {
    self.disturbances = disturbances
    self.offset = offset
    self.slack = slack
    pauses = histories.joined().filter { $0.kind == .paused }.sorted { $0.start < $1.start }
    for (machine, events) in histories.enumerated() {
      for event in events where event.kind == .begun || event.kind == .acknowledged {
        var write =
          writes[event.key][event.version]
          ?? Write(machine: machine, start: event.start, isRemoval: event.isRemoval, expires: event.expires)
        if event.kind == .acknowledged {
          write.acknowledged = event.end
          if event.expires != 0 { write.isOver = event.expires }
        }
        writes[event.key][event.version] = write
      }
    }
    let flushes = histories.map { events in
      events.filter { $0.kind == .flushed }.map { (start: $0.start, end: $0.end) }.sorted { $0.start < $1.start }
    }
    for key in 0..<FleetPlan.keys {
      for (version, write) in writes[key] {
        var write = write
        write.arrived = Self.arrival(of: write, flushes)
        // Without a confirmed arrival, it may have arrived at any time.
        let end = write.arrived ?? .max
        write.mayBeLost = disturbances.contains {
          $0.isFailover && write.start <= $0.end && end >= $0.start - FleetPlan.replicationLag
        }
        writes[key][version] = write
      }
      if FleetPlan.isContested(key) { continue }
      acknowledged[key] = Self.ordered(writes[key]) { $0.acknowledged }
      arrived[key] = Self.ordered(writes[key]) { $0.arrived }
    }
  }

  private static func arrival(of write: Write, _ flushes: [[(start: Int64, end: Int64)]]) -> Int64? {
    guard FleetPlan.queueMachines.contains(write.machine), write.machine < flushes.count,
      let acknowledged = write.acknowledged
    else { return write.acknowledged }
    return flushes[write.machine].first { $0.start >= acknowledged }?.end
  }

  private static func ordered(_ writes: [Int: Write], _ time: (Write) -> Int64?) -> [Acknowledgement] {
    var greatest = 0
    return writes.compactMap { version, write in
      write.mayBeLost ? nil : time(write).map { (end: $0, version: version) }
    }.sorted { $0.end < $1.end }.map { end, version in
      greatest = max(greatest, version)
      return (end, greatest)
    }
  }

  private func latest(_ all: [Acknowledgement], before time: Int64) -> Acknowledgement? {
    var (low, high) = (0, all.count)
    while low < high {
      let middle = (low + high) / 2
      if all[middle].end < time { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : all[low - 1]
  }

  /// How long threads were held up near an interval, in total: the promised bounds assume running threads.
  private func heldUp(from start: Int64, to end: Int64) -> Int64 {
    pauses.reduce(0) { $0 + ($1.end >= start && $1.start <= end ? $1.end - $1.start : 0) }
  }

  /// How long a machine may keep reading the old value after another machine's write was acknowledged.
  private func bound(_ read: FleetEvent, by reader: Int) -> Int64 {
    let bound = FleetPlan.bound(reader: reader) + slack
    return bound + heldUp(from: read.start - bound - FleetPlan.recovery, to: read.end)
  }

  /// Describes the fault in a read; `nil` if there is none.
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
      if FleetPlan.isContested(read.key) {
        return newer(than: write, read, by: reader).map { version, end, bound in
          describe(
            "version \(version) was written after it and acknowledged \((read.start - end) / 1_000_000) ms before, "
              + "and \(bound / 1_000_000) ms are allowed")
        }
      }
    }
    if FleetPlan.isContested(read.key) { return nil }
    let isOwn = FleetPlan.writer(of: read.key) == reader
    // A machine that shares its directory may read an older value that the other one fetched.
    let bound = isOwn && !FleetPlan.sharesDirectory(reader) ? 0 : bound(read, by: reader)
    guard let latest = latest(isOwn ? acknowledged[read.key] : arrived[read.key], before: read.start - bound) else {
      return nil
    }
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

  /// A write of a contested key that the reader must have seen, begun after the write it did see was on the server.
  private func newer(
    than write: Write, _ read: FleetEvent, by reader: Int
  ) -> (version: Int, end: Int64, bound: Int64)? {
    // An unacknowledged write may take effect at any time.
    guard let arrived = write.arrived else { return nil }
    let bound = bound(read, by: reader)
    for (version, other) in writes[read.key] where other.start > arrived && !other.mayBeLost {
      let isOwn = other.machine == reader
      guard let end = isOwn ? other.acknowledged : other.arrived else { continue }
      let allowed = isOwn && !FleetPlan.sharesDirectory(reader) ? 0 : bound
      if end < read.start - allowed { return (version, end, allowed) }
    }
    return nil
  }

  /// Whether the read may find nothing.
  private func isExplained(_ read: FleetEvent, since latest: Acknowledgement) -> Bool {
    if FleetPlan.isLoaded(read.key) { return false }
    if read.hasFailure { return true }
    for disturbance in disturbances {
      let written = writes[read.key][latest.version]?.start ?? latest.end
      if disturbance.empties, disturbance.end >= written, disturbance.start <= read.end { return true }
      // The server is unreachable, or the circuit breaker is still open.
      if disturbance.start <= read.end, disturbance.end + FleetPlan.recovery >= read.start { return true }
    }
    if heldUp(from: read.start - FleetPlan.recovery, to: read.end) > 0 { return true }
    return writes[read.key].contains { version, write in
      guard version >= latest.version, write.start <= read.end else { return false }
      return write.isRemoval || write.expires != 0 && read.end + offset >= write.expires - 2_000_000
        // A failed write clears the machine's own copy, and may or may not have taken effect.
        || write.acknowledged == nil || write.acknowledged! > read.start
    }
  }
}
