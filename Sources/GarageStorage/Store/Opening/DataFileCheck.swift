import LMDB

/// Reads a garage's data file before it is mapped.
struct DataFileCheck {
  enum Contents {
    /// There is no file, or one in which nothing was ever stored.
    case nothing
    case garage
  }

  let directory: String
  /// Whether a ``StateMark`` says that it is a garage's.
  let isMarked: Bool

  /// Reads all of the file that LMDB would follow.
  ///
  /// - Throws: `.damagedStore`; `.notAGarage` for a sound file of something else; `.unsupportedVersion`.
  func contents() throws(GarageError) -> Contents {
    var record: GarageRecord.Reading?
    var isCache = false
    let verified = try settled { () throws(DataFileError) in
      record = nil
      isCache = false
      return try DataFileVerifier.verify(directory: directory) { key, value in
        if key.elementsEqual(GarageRecord.key) { record = GarageRecord.read(value.beginning) }
        if key.elementsEqual(GarageRecord.cacheKey) { isCache = true }
      }
    }
    guard let verified, verified.entries > 0 else { return .nothing }
    return try Self.check(record, isCache: isCache, directory)
  }

  /// What the record in a sound file with entries says.
  static func check(
    _ record: GarageRecord.Reading?, isCache: Bool, _ directory: String
  ) throws(GarageError) -> Contents {
    switch record {
    case .current: return .garage
    case .newerVersion: throw .unsupportedVersion(directory)
    case .foreign, nil:
      throw .notAGarage(directory, isCache ? "it holds a cache" : "its data.mdb is another program's database")
    }
  }

  /// Looks at a file that others have verified and may be writing to: no page that is in use may be past its end.
  func checkBesideWriters() throws(GarageError) {
    _ = try settled { () throws(DataFileError) in
      // Free pages at the end need not be in the file; whether it is those takes reading all.
      guard let meta = try DataFileVerifier.checkMetaBesideWriters(directory: directory), !meta.isWhole else {
        return nil
      }
      return try DataFileVerifier.verify(directory: directory)
    }
  }

  /// What `look` finds while nobody commits.
  private func settled(
    _ look: () throws(DataFileError) -> VerifiedDataFile?
  ) throws(GarageError) -> VerifiedDataFile? {
    do throws(DataFileError) {
      for _ in 0..<8 {
        let before = try DataFileVerifier.checkMetaBesideWriters(directory: directory)
        let result: Result<VerifiedDataFile?, DataFileError>
        do throws(DataFileError) { result = .success(try look()) } catch { result = .failure(error) }
        let after = try DataFileVerifier.checkMetaBesideWriters(directory: directory)
        if before?.transactionID == after?.transactionID { return try result.get() }
      }
      // Somebody writes all the time, which takes a file that can be read.
      return nil
    } catch {
      throw failure(error)
    }
  }

  private func failure(_ error: DataFileError) -> GarageError {
    switch error {
    case .unreadable(let error): return .storageFailed(error)
    case .finding(let finding):
      if !isMarked, [.notDatabase, .version, .unsupported].contains(finding.kind) {
        return .notAGarage(directory, "its data.mdb is not a garage's: \(finding)", underlying: finding)
      }
      return GarageError(
        .damagedStore,
        """
        \(directory)/data.mdb is damaged: \(finding). Put the file back from a backup, or move the directory away to begin \
        anew; mdb_copy and mdb_dump may save what can be read of it. Nothing was changed.
        """, underlying: finding)
    }
  }
}
