import Foundation

/// A store on the disk. A call does a whole round, so that each subject's loop is as tight as its user could write it.
/// A missing or unexpected value is an error.
protocol DiskSubject: AnyObject {
  /// Sets the keys one by one; each write survives the death of the process before the next starts.
  func set(_ keys: KeyList, _ value: Data) throws

  /// Sets the keys in atomic batches.
  func set(_ keys: KeyList, _ value: Data, inBatchesOf size: Int) throws

  /// Reads each value into its own memory, or into a buffer that the next read overwrites.
  func get(_ keys: KeyList) throws

  func getMissing(_ keys: KeyList) throws

  /// The value of one key, for checks; nil if missing. Not timed.
  func value(_ keys: KeyList, at place: Int) throws -> Data?

  /// Removes the keys one by one, as durably as ``set(_:_:)``.
  func remove(_ keys: KeyList) throws

  /// Waits for background work.
  func settle() throws

  func close() throws
}
