/// What is stored of one object.
struct StoredRecord {
  /// JSON in UTF-8, or the text that the encryption delegate made of it.
  var content: [UInt8]
  var isEncrypted: Bool
  var status: SyncStatus
}
