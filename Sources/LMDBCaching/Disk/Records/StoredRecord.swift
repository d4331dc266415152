/// A record read from the disk tier, with its payload copied.
struct StoredRecord<Payload> {
  /// Without its tags.
  let header: RecordHeader
  let tags: EntryTags?
  /// The header's and key's part of the checksum.
  let headerHash: UInt64
  let payload: Payload
  /// The transaction at which the record is known to be current.
  var validated: UInt64 = 0

  func replacingPayload<Other>(with payload: Other) -> StoredRecord<Other> {
    StoredRecord<Other>(
      header: header, tags: tags, headerHash: headerHash, payload: payload, validated: validated)
  }
}
