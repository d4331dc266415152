import LMDB

/// Verifies a garage's data file before it is mapped.
struct DataFileCheck {
  enum Contents {
    /// No file, or one that never stored anything.
    case nothing
    case garage
  }

  let directory: String
  /// Whether a ``StateMark`` says that it is a garage's.
  let isMarked: Bool

  /// Reads everything that LMDB would follow.
  ///
  /// - Throws: `.damagedStore`; `.notAGarage` for another kind of sound file; `.unsupportedVersion`.
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

  /// Checks the record of a sound file with entries.
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

  /// Checks a verified file that others may be writing: no page in use may be past its end.
  func checkBesideWriters() throws(GarageError) {
    _ = try settled { () throws(DataFileError) in
      // Missing pages are fine if they are free, which only a full read decides.
      guard let meta = try DataFileVerifier.checkMetaBesideWriters(directory: directory), !meta.isWhole else {
        return nil
      }
      return try DataFileVerifier.verify(directory: directory)
    }
  }

  /// Returns the result of `look` between commits.
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
      // A file that is written constantly is readable.
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
