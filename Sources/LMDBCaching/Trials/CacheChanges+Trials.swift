extension CacheChanges {
  /// What has been told and not taken.
  package func taken() -> [CacheChange] {
    var changes: [CacheChange] = []
    while let change = observation.mailbox.take() { changes.append(change) }
    return changes
  }
}
