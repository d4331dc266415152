struct StoredRecord {
  /// UTF-8 JSON, or its encrypted text.
  var content: [UInt8]
  var isEncrypted: Bool
  var status: SyncStatus
}
