/// The header of a record as it was read, without the value.
struct StoredHeader {
  /// Without its tags.
  let header: RecordHeader
  let tags: EntryTags?
  /// The transaction that the record is known to be current in.
  let validated: UInt64

  /// - Parameter header: Of a record that is there.
  init(_ header: RecordHeader, validated: UInt64) {
    self.header = header.detached
    tags = header.tags.map(EntryTags.init(copying:))
    self.validated = validated
  }
}
