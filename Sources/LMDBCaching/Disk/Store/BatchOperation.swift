/// One operation of an atomic batch, with everything it needs.
enum BatchOperation {
  struct Put {
    let key: String
    var header: RecordHeader
    var payload: [UInt8]

    func referring(to reference: ValueFileReference) -> Put {
      var put = self
      put.header.flags.insert(.file)
      put.payload = [UInt8](repeating: 0, count: ValueFileReference.size)
      put.payload.withUnsafeMutableBytes { reference.write(to: $0.baseAddress!) }
      return put
    }
  }

  case put(Put)
  case remove(String)
  /// nil: every key.
  case removeAll(prefix: String?)

  /// nil: the operation concerns any number of keys.
  var hash: UInt64? {
    switch self {
    case .put(let put): KeyIdentity.hash(put.key, seed: KeyIdentity.seed)
    case .remove(let key): KeyIdentity.hash(key, seed: KeyIdentity.seed)
    case .removeAll: nil
    }
  }

  var frameSize: Int {
    switch self {
    case .put(let put):
      CacheKey.with(put.key) { key in put.payload.withUnsafeBytes { PreparedPut(key, put.header, $0).frameSize } }
    case .remove(let key): JournalFrame.size(keyLength: key.utf8.count, recordLength: 0)
    case .removeAll(let prefix): JournalFrame.size(keyLength: prefix?.utf8.count ?? 0, recordLength: 0)
    }
  }

  func append(to segment: JournalSegment?, stamp: UInt64, flags: JournalFrame.Flags) {
    guard let segment else { return }
    switch self {
    case .put(let put):
      CacheKey.with(put.key) { key in
        put.payload.withUnsafeBytes { PreparedPut(key, put.header, $0).append(to: segment, stamp: stamp, flags: flags) }
      }
    case .remove(let key):
      CacheKey.with(key) { segment.remove(key: $0.utf8, hash: $0.hash, stamp: stamp, flags: flags) }
    case .removeAll(nil): segment.removeAll(stamp: stamp, flags: flags)
    case .removeAll(let prefix?):
      withUTF8Bytes(of: prefix) { segment.removeAll(prefix: $0, stamp: stamp, flags: flags) }
    }
  }

  /// What a removal of many keys left in memory is of before the batch; a single key's value is of before its end.
  func didChange(_ observer: any DiskStoreObserver, firstStamp: UInt64, lastStamp: UInt64) {
    switch self {
    case .put(let put): observer.didChange(put.key, hash: hash ?? 0, stamp: lastStamp)
    case .remove(let key): observer.didChange(key, hash: hash ?? 0, stamp: lastStamp)
    case .removeAll(let prefix): observer.didRemoveAll(withPrefix: prefix ?? "", stamp: firstStamp)
    }
  }

  func noteChange(in store: DiskStore, firstStamp: UInt64, lastStamp: UInt64) {
    switch self {
    case .put(let put): CacheKey.with(put.key) { store.noteChange($0, lastStamp) }
    case .remove(let key): CacheKey.with(key) { store.noteChange($0, lastStamp) }
    case .removeAll(let prefix): store.noteRemoval(ofAll: prefix ?? "", stamp: firstStamp, lastStamp: lastStamp)
    }
  }
}
