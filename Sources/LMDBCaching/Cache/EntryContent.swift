import Synchronization

/// The decoded content of one entry, kept until the entry changes, so that reading it again needs no shared lock,
/// look-up or decoding.
///
/// It is never older than the cache's own answer: a write, removal, trim or expiry, in any process, makes the next read
/// reload it.
@usableFromInline
package final class EntryContent<Content>: @unchecked Sendable {
  // Unchecked: readers copy the content under a reader stripe, and it is freed after the last reader. The owner decides
  // whether the content may be shared between threads.

  /// Valid as long as this object.
  @usableFromInline package let reader: EntryReader<Content>
  private let observer: EntryVersionObserver

  package init(_ cache: LMDBCache, key: String) {
    observer = EntryVersionObserver(cache, key: key)
    reader = EntryReader(observer)
  }

  deinit { reader.deallocate() }

  /// Makes the next read reload the entry.
  package func forget() {
    // Expired content is never current.
    reader.keep(.init(stamp: .init(version: 0, position: 0, expires: .min), content: nil))
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
      reader.keep(.init(stamp: observer.stamp(observed), content: content))
    }
    if let failure { throw failure }
    return content
  }

  /// Whether reading the entry again would give the same error.
  private func isAboutTheEntry(_ error: any Error) -> Bool {
    guard let error = error as? CacheError else { return true }
    return [.typeMismatch, .decodingFailed, .corruptedRecord, .unsupportedRecord, .missingTransform].contains(
      error.code)
  }
}
