import Synchronization

/// The content decoded from one entry, kept until the entry changes: reading it again takes no lock that threads share, no
/// look-up and no decoding.
///
/// It is never older than what the cache itself would say: a write, a removal, a trim or the entry's expiry, here or in
/// another process, makes the next read load it anew.
@usableFromInline
package final class EntryContent<Content>: @unchecked Sendable {
  // Unchecked: readers copy the content under a reader stripe, and it is freed when no reader is left. Whether the content
  // may be shared between threads is for the owner to say.

  /// Valid as long as this object.
  @usableFromInline package let reader: EntryReader<Content>
  private let observer: EntryVersionObserver

  package init(_ cache: LMDBCache, key: String) {
    observer = EntryVersionObserver(cache, key: key)
    reader = EntryReader(observer)
  }

  deinit { reader.deallocate() }

  /// Makes the next read load the entry, though it has not changed.
  package func forget() {
    // Nothing is current once it has expired.
    reader.keep(.init(stamp: .init(version: 0, position: 0, expires: .min), content: nil))
  }

  /// Calls `load`, which reads the entry, and keeps what it returns, or no content for an entry that cannot be read.
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

  /// Whether the error would be the same if the entry were read again.
  private func isAboutTheEntry(_ error: any Error) -> Bool {
    guard let error = error as? CacheError else { return true }
    return [.typeMismatch, .decodingFailed, .corruptedRecord, .unsupportedRecord, .missingTransform].contains(
      error.code)
  }
}
