import Synchronization

/// The decoded content of one entry, kept until the entry changes, so that reading it again needs no shared lock,
/// look-up or decoding.
///
/// It is never older than the cache's own answer: a write, removal, trim or expiry, in any process, makes the next read
/// reload it.
@usableFromInline
package final class EntryContent<Content>: @unchecked Sendable {
  // Unchecked: readers copy the content under announcement as a reader, and it is freed after that. The owner decides
  // whether the content may be shared between threads.

  /// Valid as long as this object.
  @usableFromInline package let reader: EntryReader<Content>
  private let observer: EntryVersionObserver

  package init(_ cache: LMDBCache, key: String) {
    observer = EntryVersionObserver(cache, key: key)
    reader = EntryReader(observer)
  }

  deinit { unsafe reader.deallocate() }

  /// Makes the next read reload the entry.
  package func forget() {
    // Expired content is never current.
    reader.keep(.init(seen: .init(version: 0, position: 0, expires: .min), content: nil))
  }

  /// Calls `load`, which reads the entry, and keeps its result. An unreadable entry is kept as missing content, so that it is not decoded
  /// again.
  @usableFromInline @inline(never)
  package func load(_ load: () throws -> Content?) throws -> Content? {
    let observed = observer.observe()
    var content: Content?
    var failure: (any Error)?
    do { content = try load() } catch { failure = error }
    if let observed, failure.map(isAboutTheEntry) ?? true {
      reader.keep(.init(seen: observer.finished(observed), content: content))
    }
    if let failure { throw failure }
    return content
  }

  /// Whether reading the entry again would give the same error.
  private func isAboutTheEntry(_ error: any Error) -> Bool {
    guard let error = error as? CacheError else { return true }
    return error.isOfOneEntry || error.code == .missingTransform
  }
}

/// The reading side of an ``EntryContent``, valid as long as that. No object, since a shared reference count would
/// bounce between the processors of its readers.
@usableFromInline
package struct EntryReader<Content>: BitwiseCopyable {
  @usableFromInline
  struct Copy {
    let seen: EntryVersionObserver.Seen
    @usableFromInline let content: Content?
  }

  @usableFromInline let state: MemoryReference<EntryState>

  init(_ observer: EntryVersionObserver) {
    state = .allocated(EntryState(observer))
  }

  /// Call it after the last reader.
  @unsafe func deallocate() {
    unsafe MemoryReference<Copy>(address: state.pointee.current.load(ordering: .acquiring))?.free()
    unsafe state.free()
  }

  /// The content that was loaded last, or `nil` if the entry has changed since.
  ///
  /// The result is a copy with separate references.
  // The effect is true of the whole: it retains, and releases nothing. So a caller need not count references to keep
  // the owner of this reader. Without it the code is correct, but slower.
  @inlinable @inline(never) @_effects(releasenone)
  package func currentContent() -> Content?? {
    let reading = EntryState.begin(state)
    guard let copy = unsafe MemoryReference<Copy>(address: reading.copy) else { return nil }
    let content = copy.pointee.content
    EntryState.end(reading)
    return .some(content)
  }

  func keep(_ copy: Copy) {
    let new = unsafe UInt(bitPattern: MemoryReference.allocated(copy).pointer)
    let old = state.pointee.current.exchange(new, ordering: .acquiringAndReleasing)
    guard let old = unsafe MemoryReference<Copy>(address: old) else { return }
    MemoryReaders.shared.wait()
    unsafe old.free()
  }
}

/// The part of an ``EntryReader`` that does not depend on the type of its content.
@safe @usableFromInline
struct EntryState: ~Copyable {
  /// The address of an `EntryReader.Copy`, whose first word is the version that was read, or 0.
  let current = Atomic<UInt>(0)
  /// Unmanaged, so that reading counts no references: the ``EntryContent`` that frees this state keeps the observer.
  let observer: Unmanaged<EntryVersionObserver>
  /// Unmanaged: they are never freed.
  let readers = unsafe Unmanaged.passUnretained(MemoryReaders.shared)

  init(_ observer: EntryVersionObserver) { unsafe self.observer = unsafe .passUnretained(observer) }

  /// The address of a copy that stays valid while the thread is announced as a reader; 0, without that, if not current.
  @usableFromInline
  struct Reading: BitwiseCopyable {
    @usableFromInline let copy: UInt
    let line: MemoryReference<MemoryReader>?
  }

  @usableFromInline @inline(never)
  static func begin(_ state: MemoryReference<EntryState>) -> Reading {
    guard let line = unsafe state.pointee.readers._withUnsafeGuaranteedRef({ $0.enter() }) else {
      return Reading(copy: 0, line: nil)
    }
    let copy = state.pointee.current.load(ordering: .acquiring)
    if let seen = unsafe MemoryReference<EntryVersionObserver.Seen>(address: copy)?.pointee,
      unsafe state.pointee.observer._withUnsafeGuaranteedRef({ $0.isCurrent(seen) })
    {
      return Reading(copy: copy, line: line)
    }
    line.pointee.leave()
    return Reading(copy: 0, line: nil)
  }

  /// Afterwards another thread may release the content. Not inlined, so that the compiler assumes this and retains the
  /// content before.
  @usableFromInline @inline(never)
  static func end(_ reading: Reading) { reading.line?.pointee.leave() }
}

/// Detects whether one entry has changed since it was read.
@usableFromInline
package final class EntryVersionObserver: Sendable {
  @usableFromInline
  struct Seen: BitwiseCopyable {
    let version: UInt64
    /// The newest transaction of another process that the read has seen.
    let position: UInt64
    var expires: Int64 = .max
  }

  private let cache: LMDBCache
  private let store: DiskStore
  private let key: String
  private let versions: KeyVersions
  private let hash: UInt64
  /// In `versions`.
  private let version: MemoryReference<Atomic<UInt64>>

  init(_ cache: LMDBCache, key: String) {
    self.cache = cache
    self.key = key
    store = cache.store
    versions = cache.memory.versions
    cache.noteWrites()
    hash = KeyIdentity.hash(key, seed: KeyIdentity.seed)
    version = versions.word(hash: hash)
  }

  @inline(__always)
  func isCurrent(_ seen: Seen) -> Bool {
    seen.version == version.pointee.load(ordering: .acquiring) && seen.position >= store.foreignPosition
      && (seen.expires == .max || store.clock.now < seen.expires)
  }

  /// Call it before reading the entry. Returns `nil` if the result cannot be kept, because the cache is
  /// closed or the entry is changing.
  func observe() -> Seen? {
    let version = version.pointee.load(ordering: .acquiring)
    if versions.isClosed || cache.memory.isChanging(hash) { return nil }
    return Seen(version: version, position: store.foreignPosition)
  }

  func finished(_ observed: Seen) -> Seen {
    Seen(version: observed.version, position: observed.position, expires: cache.expires(key))
  }
}

extension LMDBCache {
  /// In nanoseconds since 1970; `Int64.max` for an entry that never expires, is missing or cannot be read.
  fileprivate func expires(_ key: String) -> Int64 {
    CacheKey.with(key) { key in
      if let expires = tier?.expires(key) { return expires }
      do throws(CacheError) {
        try checkOpen()
        let expires = try store.header(key)?.header.expires ?? 0
        return expires == 0 ? .max : expires
      } catch {
        return .max
      }
    }
  }
}
