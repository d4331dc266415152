import Logging
import Platform

// Storing loaded values.

extension LMDBCache {
  /// Stores a loaded value, unless the key was written since. Failures do not reach the callers, since they have the
  /// value.
  func keep<V: Codable & Sendable>(
    _ value: V?, _ context: LoadContext, _ options: LoadOptions, _ load: Load, _ basis: LoadBasis,
    isCancelled: Bool = false
  ) {
    let key = context.key
    guard context.isStored else { return }
    do throws(CacheError) {
      try diskCache.checkOpen()
      let tags = if let tags = context.inherited.tags { tags } else { try EntryTags.make(context.tags) }
      let concerned = [tags, basis.tags]
      guard basis.isCurrent(key, concerned, in: store) else { return }
      try CacheKey.with(key) { (key) throws(CacheError) in
        guard let value else { return try keepAbsence(key, tags, options, load, concerned) }
        try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
          let inherited = context.inherited
          let lifetime = inherited.expires == nil ? context.lifetime.map(options.shortened) : context.lifetime
          let expires = inherited.expires ?? lifetime.map { store.expiry(after: $0) } ?? 0
          var header = try store.header(for: key, format, bytes, expires: expires, cost: context.cost)
          options.setTimes(of: &header, lifetime: lifetime, now: store.clock.now)
          header.revision = inherited.revision
          header.tags = tags?.hashes
          try diskCache.put(
            TypedMemoryValue.make(value, archiveLength: bytes.count), key, header, tags, bytes, through: memoryCache
          ) { load.isCurrent(at: inherited.revision, concerned) && !isCancelled }
        }
      }
    } catch {
      noteUnstored(key, error)
    }
  }

  /// Records an absence, and drops any older value.
  private func keepAbsence(
    _ key: CacheKey, _ tags: EntryTags?, _ options: LoadOptions, _ load: Load, _ concerned: [EntryTags?]
  ) throws(CacheError) {
    guard let lifetime = options.absenceLifetime else { return }
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    // Readers that do not know absences see an expired entry.
    var header = try store.header(for: key, .bytes, empty, expires: .min, cost: nil)
    header.flags.insert(.absence)
    header.kept = store.expiry(after: lifetime)
    header.tags = tags?.hashes
    try diskCache.put(nil, key, header, tags, empty, through: memoryCache) { load.isCurrent(at: 0, concerned) }
  }

  private func noteUnstored(_ key: String, _ error: CacheError) {
    // A closed cache stores nothing; a load inside an update of its value leaves the storing to that.
    if [.closed, .recursiveUpdate].contains(error.code) { return }
    store.noteUnstored(error)
    diskCache.events.log(
      .error, "loaded value not stored",
      ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
  }

  func noteUnreadable(_ key: String, _ error: CacheError) {
    store.counters.misses.increment()
    diskCache.events.log(
      .warning, "cache entry cannot be read, and is loaded anew",
      ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
  }
}

extension LoadOptions {
  func shortened(_ lifetime: Duration) -> Duration {
    jitter == 0 ? lifetime : lifetime.share(1 - jitter * Double.random(in: 0..<1))
  }

  fileprivate func setTimes(of header: inout RecordHeader, lifetime: Duration?, now: Int64) {
    guard header.expires != 0 else { return }
    if keptFor > .zero { header.kept = header.expires.addingClamped(keptFor.clampedNanoseconds) }
    guard let refreshAhead, let lifetime else { return }
    let refresh = now.addingClamped(lifetime.share(refreshAhead).clampedNanoseconds)
    if refresh < header.expires { header.refresh = max(1, refresh) }
  }
}
