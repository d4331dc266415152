import Foundation
import LMDBCaching

#if canImport(Glibc)
  import Glibc
#endif

extension Session {
  /// key LENGTH TEXT: tries every operation with a key of that many bytes, repeating the text.
  func useKey(length: Int, _ text: String) throws -> String {
    let cache = try opened()
    let part = text == "NUL" ? "\0" : text == "MAX" ? "\u{10FFFF}" : text
    var key = String(repeating: part, count: length / part.utf8.count)
    key += String(repeating: "x", count: length - key.utf8.count)
    // Differs in the last byte.
    let other = String(key.dropLast()) + "y"
    func expect(_ condition: Bool, _ what: String) throws {
      if !condition { throw CacheError(.storageFailed, "\(what) with a key of \(length) bytes") }
    }
    let before = try cache.count
    for place in 0..<3 {
      try cache.set(place, forKey: key)
      if length > 0 { try cache.set(-1, forKey: other) }
      if place > 0 { cache.memory.removeAll() }
      if place > 1 { try cache.flush() }
      try expect(cache.value(Int.self, forKey: key) == place, "value, place \(place)")
      try expect(cache.withoutMemory.value(Int.self, forKey: key) == place, "value on the disk, place \(place)")
      try expect(cache.contains(key), "contains, place \(place)")
      if 1..<1 << 20 ~= length {
        try expect(cache.entries(withPrefix: key).map(\.key) == [key], "entries, place \(place)")
      }
      // Sorting long keys byte by byte is slow in a debug build.
      if place == 2 || length < 1 << 20 {
        try expect(cache.entries().contains { $0.key == key }, "all entries, place \(place)")
      }
      try expect(cache.read { try $0.value(Int.self, forKey: key) } == place, "snapshot, place \(place)")
    }
    try cache.write { batch in
      batch.set(10, forKey: key)
      batch.removeValue(forKey: other)
    }
    try expect(cache.value(Int.self, forKey: key) == 10, "batch")
    try expect(length == 0 || cache.value(Int.self, forKey: other) == nil, "removal in a batch")
    try cache.trim(to: .age(.seconds(3_600)))
    try expect(cache.value(Int.self, forKey: key) == 10, "trim")
    try cache.removeValue(forKey: key)
    try expect(cache.value(Int.self, forKey: key) == nil, "removal")
    if length > 0 && length < 1 << 20 {
      try cache.set(1, forKey: key)
      try cache.flush()
      try cache.removeAll(.prefix(key))
      try expect(cache.value(Int.self, forKey: key) == nil && !cache.contains(key), "removal by prefix")
    }
    try expect(cache.count == before, "count")
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
    /// Bytes that take no memory: their pages are never allocated.
    private func withZeros<R>(_ count: Int, _ body: (Data) throws -> R) throws -> R {
      guard let memory = mmap(nil, count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
        memory != MAP_FAILED
      else { throw CacheError(.storageFailed, "no address space") }
      defer { munmap(memory, count) }
      return try body(Data(bytesNoCopy: memory, count: count, deallocator: .none))
    }

    /// filelimit BYTES: limits the size of files.
    func limitFiles(_ size: Int) -> String {
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      limit.rlim_cur = rlim_t(size)
      return setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 ? "ok" : "no limit"
    }

    /// huge BYTES: tries a value that is too long.
    func useHugeValue(_ size: Int) throws -> String {
      let cache = try opened()
      var findings: [String] = []
      try withZeros(size) { value in
        refuse("set", &findings) { try cache.set(value, forKey: "huge") }
        refuse("disk set", &findings) { try cache.withoutMemory.set(value, forKey: "huge") }
        refuse("write", &findings) { try cache.write { $0.set(value, forKey: "huge") } }
      }
      if try cache.contains("huge") { findings.append("contains") }
      return findings.isEmpty ? "ok" : findings.joined(separator: "; ")
    }
  #endif
}
