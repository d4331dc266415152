import Foundation
import LMDBCaching

#if canImport(Glibc)
  import Glibc
#endif

extension Session {
  /// key LENGTH: tries a key of that many bytes in memory, in the journal and in the database.
  func useKey(length: Int) throws -> String {
    let cache = try opened()
    let before = try cache.count
    let key = String(repeating: "k", count: length)
    // Differs in the last byte.
    let other = String(key.dropLast()) + "y"
    try cache.write { batch in
      batch.set(1, forKey: key)
      batch.set(2, forKey: other)
    }
    for place in ["memory", "journal", "database"] {
      let values = [try cache.value(Int.self, forKey: key), try cache.value(Int.self, forKey: other)]
      let snapshot = try cache.read { try $0.value(Int.self, forKey: key) }
      if try values != [1, 2] || snapshot != 1 || !cache.contains(key) { return "not in the \(place)" }
      cache.memory.removeAll()
      if place == "journal" { try cache.flush() }
    }
    let listed = Set(try cache.entries().map(\.key))
    try cache.trim(to: .age(.seconds(3_600)))
    for key in [key, other] { try cache.removeValue(forKey: key) }
    return try listed.isSuperset(of: [key, other]) && cache.count == before ? "ok" : "not listed or not removed"
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
