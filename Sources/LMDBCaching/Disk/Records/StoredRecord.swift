/// A record as it was read, its payload copied.
struct StoredRecord<Payload> {
  /// Without its tags.
  let header: RecordHeader
  let tags: EntryTags?
  /// The hash that the checksum needs of the header and the key.
  let headerHash: UInt64
  let payload: Payload
  /// The transaction that the record is known to be current in.
  var validated: UInt64 = 0

  func replacingPayload<Other>(with payload: Other) -> StoredRecord<Other> {
    StoredRecord<Other>(
      header: header, tags: tags, headerHash: headerHash, payload: payload, validated: validated)
  }
}
