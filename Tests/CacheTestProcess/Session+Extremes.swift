import Foundation
import LMDBCaching

#if canImport(Glibc)
  import Glibc
#endif

extension Session {
  /// key LENGTH: tries every operation with a key of that many bytes.
  func useKey(length: Int) throws -> String {
    let cache = try opened()
    let before = try cache.count
    let key = String(repeating: "k", count: length)
    // Differs in the last byte.
    let other = String(key.dropLast()) + "y"
    func expect(_ condition: Bool, _ what: String) throws {
      if !condition { throw CacheError(.storageFailed, "\(what) with a key of \(length) bytes") }
    }
    for place in 0..<3 {
      try cache.set(place, forKey: key)
      try cache.set(-1, forKey: other)
      if place > 0 { cache.memory.removeAll() }
      if place > 1 { try cache.flush() }
      try expect(cache.value(Int.self, forKey: key) == place, "value, place \(place)")
      try expect(cache.withoutMemory.value(Int.self, forKey: key) == place, "value on the disk, place \(place)")
      try expect(cache.contains(key), "contains, place \(place)")
      try expect(cache.read { try $0.value(Int.self, forKey: key) } == place, "snapshot, place \(place)")
    }
    try expect(cache.entries().contains { $0.key == key }, "all entries")
    try cache.write { batch in
      batch.set(10, forKey: key)
      batch.removeValue(forKey: other)
    }
    try expect(cache.value(Int.self, forKey: other) == nil, "removal in a batch")
    try cache.trim(to: .age(.seconds(3_600)))
    try expect(cache.value(Int.self, forKey: key) == 10, "batch and trim")
    try cache.removeValue(forKey: key)
    try expect(cache.value(Int.self, forKey: key) == nil && cache.count == before, "removal")
    return "ok"
  }

  /// Notes an attempt that succeeds, or fails with another error than `invalidArgument`.
  private func refuse(_ name: String, _ findings: inout [String], _ body: () throws -> Void) {
    do {
      try body()
      findings.append("\(name) done")
    } catch {
      if (error as? CacheError)?.code != .invalidArgument { findings.append("\(name) \(error)") }
    }
  }

  /// refusedkey LENGTH: tries a key that is too long.
  func useLongKey(length: Int) throws -> String {
    let cache = try opened()
    let key = String(repeating: "k", count: length)
    var findings: [String] = []
    refuse("set", &findings) { try cache.set(1, forKey: key) }
    refuse("disk set", &findings) { try cache.withoutMemory.set(1, forKey: key) }
    refuse("write", &findings) { try cache.write { $0.set(1, forKey: key) } }
    refuse("removal", &findings) { try cache.removeValue(forKey: key) }
    refuse("removal of all", &findings) { try cache.removeAll(.prefix(key)) }
    if try cache.value(Int.self, forKey: key) != nil || cache.contains(key) { findings.append("contains") }
    try cache.write {
      $0.removeValue(forKey: key)
      $0.removeAll(.prefix(key))
    }
    return findings.isEmpty ? "ok" : findings.joined(separator: "; ")
  }

  #if os(Linux)
    /// Limits a resource of this process, in bytes.
    func limit(_ resource: __rlimit_resource_t, to bytes: Int) -> String {
      var limit = rlimit()
      getrlimit(resource, &limit)
      limit.rlim_cur = rlim_t(bytes)
      return setrlimit(resource, &limit) == 0 ? "ok" : "no limit"
    }

    /// huge BYTES: tries a value that is too long, whose zeros take no memory.
    func useHugeValue(_ size: Int) throws -> String {
      guard let memory = mmap(nil, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
        memory != MAP_FAILED
      else { throw CacheError(.storageFailed, "no address space") }
      defer { munmap(memory, size) }
      let (cache, value) = (try opened(), Data(bytesNoCopy: memory, count: size, deallocator: .none))
      var findings: [String] = []
      refuse("set", &findings) { try cache.set(value, forKey: "huge") }
      refuse("disk set", &findings) { try cache.withoutMemory.set(value, forKey: "huge") }
      refuse("write", &findings) { try cache.write { $0.set(value, forKey: "huge") } }
      if try cache.contains("huge") { findings.append("contains") }
      return findings.isEmpty ? "ok" : findings.joined(separator: "; ")
    }
  #endif
}
