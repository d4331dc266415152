import Foundation
import LMDBCaching
import TestSupport

extension CacheModel {
  func flush() throws {
    note("flush")
    try either.flush()
  }

  func dropMemory() {
    note("dropMemory")
    either.memory.removeAll()
  }

  func moveClock() throws {
    let before = time.now
    switch random.below(8) {
    case 0:
      let step = Int64(random.below(20_000) - 12_000) * 1_000_000
      note("setClock", "by \(step / 1_000_000) ms")
      clock.set(clock.now + step)
    case 1:
      note("advance", "long")
      clock.advance(by: .seconds(random.below(300)))
    default:
      note("advance")
      clock.advance(by: .milliseconds(random.below(4_000)))
    }
    let now = time.now
    if now < before || now < clock.now { throw ModelMismatch("the time is \(now), after \(before)") }
    // The clock stores milliseconds; the model compares exactly.
    time.advance(toAtLeast: now)
  }

  func reopen() throws {
    note("reopen")
    try reconcile()
    try other?.close()
    other = nil
    try cache.close()
    try begin()
  }

  private func begin() throws {
    time = .manual(clock)
    cache = try open()
    try followChanges()
  }

  /// Continues on a copy of the files before a commit, as after the death of the process.
  func crash() throws {
    note("crash")
    try reconcile()
    let (source, copy) = (directory, moveOn())
    try cache.betweenCommits {
      Result {
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: source) where name != "lock.mdb" {
          try FileManager.default.copyItem(atPath: source + "/" + name, toPath: copy + "/" + name)
        }
      }
    }.get()
    try other?.close()
    other = nil
    try cache.close()
    try FileManager.default.removeItem(atPath: source)
    try begin()
  }

  func toggleOther() throws {
    note("other")
    if let open = other {
      try open.close()
      other = nil
    } else {
      other = try open()
    }
  }

  private func names(_ keys: Set<ModelKey>) -> String {
    let names = keys.map { String(decoding: $0.bytes.prefix(8), as: UTF8.self).debugDescription }
    return "[" + names.sorted().joined(separator: ", ") + "]"
  }

  /// Starts from the present entries. Expired ones may be gone already, without further notice.
  func followChanges() throws {
    changes = cache.changes()
    told = Set(try cache.entries().map { ModelKey($0.key) })
  }

  /// Removals by tag before the commit are reported when the database is read again: after 50 ms, or later if the clock
  /// was moved.
  func awaitRemovals() throws {
    var step = Duration.milliseconds(50)
    for _ in 0..<20 {
      try takeChanges()
      if told.isSubset(of: entries.keys) { return }
      clock.advance(by: step)
      time.advance(toAtLeast: time.now)
      step *= 2
      // Queued behind the writer's work from the clock's timer.
      try cache.betweenCommits {}
    }
  }

  private func takeChanges() throws {
    for change in changes.taken() {
      switch change {
      case .set(let key): told.insert(ModelKey(key))
      case .removed(let key), .evicted(let key), .expired(let key): told.remove(ModelKey(key))
      case .removedAll(let prefix): told = told.filter { !$0.hasPrefix(prefix) }
      case .missed: told = Set(try cache.entries().map { ModelKey($0.key) })
      }
    }
    latest = max(latest, time.now)
  }

  /// An observer of the changes must know which keys exist.
  func compareChanges() throws {
    try takeChanges()
    if mayHaveEvicted { return }
    let live = Set(entries.filter { $0.value.expires.map { $0 > latest } ?? true }.keys)
    // An expired entry is reported when it is removed.
    if !told.isSuperset(of: live) || !told.isSubset(of: entries.keys) {
      let (missing, surplus) = (live.subtracting(told), told.subtracting(entries.keys))
      throw ModelMismatch("the changes do not tell of \(names(missing)), and tell of \(names(surplus)) too much")
    }
  }
}
