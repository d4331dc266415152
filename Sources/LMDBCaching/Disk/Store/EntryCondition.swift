import Foundation

/// The condition under which a write is made.
enum EntryCondition {
  /// This process is the only one, and the entry has not changed since the write read it.
  case unchanged(ConditionalWrite, position: UInt64)
  /// The entry has this stamp; 0: it is absent or has expired.
  case stamp(UInt64)

  /// Whether the write needs a transaction. A lone process appends a frame to the journal instead.
  var isOfTransaction: Bool {
    switch self {
    case .unchanged: false
    case .stamp: true
    }
  }
}

/// A value being written: transformed and appended to the value log once, however often the write is retried.
final class ValueDraft {
  let payload: UnsafeRawBufferPointer
  let transforms: ValueTransforms
  /// The transforms' result, and the entry that encryption binds it to.
  private var transformed: (bytes: Data?, header: RecordHeader, tags: [UInt64])?
  var appended: AppendedValue?

  init(_ payload: UnsafeRawBufferPointer, _ transforms: ValueTransforms) {
    self.payload = payload
    self.transforms = transforms
  }

  deinit { appended?.end() }

  /// Returns the transforms' result for an entry, or `nil` if they leave the value as it is.
  func transformed(
    for header: RecordHeader, _ transform: () throws(CacheError) -> Data?
  ) throws(CacheError) -> Data? {
    let tags = header.tags.map(Array.init) ?? []
    if let (bytes, known, knownTags) = transformed, known.expires == header.expires, known.created == header.created,
      knownTags == tags
    {
      return bytes
    }
    let bytes = try transform()
    transformed = (bytes, header, tags)
    appended?.end()
    appended = nil
    return bytes
  }
}
