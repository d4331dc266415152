/// A put whose hashes are already computed, so that only copying remains under the lock.
struct PreparedPut {
  private let key: CacheKey
  private var header: RecordHeader
  private let payload: UnsafeRawBufferPointer
  let hash: UInt64
  private let keyHash: UInt64
  private let payloadHash: UInt64

  @inline(__always)
  init(_ key: CacheKey, _ header: RecordHeader, _ payload: UnsafeRawBufferPointer) {
    self.key = key
    self.header = header
    self.payload = payload
    if !DatabaseKey.isPlain(key.utf8) { self.header.keyLength = UInt32(key.utf8.count) }
    hash = key.hash
    keyHash = RecordHeader.keyHash(key.utf8)
    payloadHash = RecordHeader.payloadHash(payload)
  }

  private var recordLength: Int { header.payloadOffset + payload.count }

  @inline(__always)
  var frameSize: Int { JournalFrame.size(keyLength: key.utf8.count, recordLength: recordLength) }

  @inline(__always)
  func append(to segment: JournalSegment, stamp: UInt64, flags: JournalFrame.Flags) {
    segment.put(key: key.utf8, hash: hash, stamp: stamp, flags: flags, recordLength: recordLength) {
      write(to: $0, stamp: stamp)
    }
  }

  func record(stamp: UInt64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: recordLength) { record, count in
      if let base = record.baseAddress { write(to: UnsafeMutableRawPointer(base), stamp: stamp) }
      count = recordLength
    }
  }

  @inline(__always)
  private func write(to record: UnsafeMutableRawPointer, stamp: UInt64) {
    var header = header
    header.stamp = stamp
    header.write(to: record, keyHash: keyHash, payloadHash: payloadHash)
    if header.keyLength != 0 {
      (record + header.keyOffset).copyMemory(from: key.utf8.baseAddress!, byteCount: key.utf8.count)
    }
    if !payload.isEmpty {
      (record + header.payloadOffset).copyMemory(from: payload.baseAddress!, byteCount: payload.count)
    }
  }
}
