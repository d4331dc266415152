struct StoredHeader {
  /// Without its tags.
  let header: RecordHeader
  let tags: EntryTags?
  /// The transaction at which the record is known to be current.
  let validated: UInt64

  /// - Parameter header: Its tags must still be valid.
  init(_ header: RecordHeader, validated: UInt64) {
    self.header = header.detached
    tags = header.tags.map(EntryTags.init(copying:))
    self.validated = validated
  }
}
