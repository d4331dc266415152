import Foundation

/// What keeps values on the disk, as the workloads use it. A call does a whole round, so that each subject's loop is as
/// tight as its user could write it. Whatever is not found, or found without being expected, is an error.
protocol DiskSubject: AnyObject {
  /// Sets the keys one by one; each is safe from the death of the process before the next is begun.
  func set(_ keys: KeyList, _ value: Data) throws

  /// Sets the keys in batches, each of which is there wholly or not at all.
  func set(_ keys: KeyList, _ value: Data, inBatchesOf size: Int) throws

  /// Reads the keys, and has each value in memory of its own, or in a buffer that the next overwrites.
  func get(_ keys: KeyList) throws

  func getMissing(_ keys: KeyList) throws

  /// The value under one of the keys, to be looked at; nil: there is none. Not timed.
  func value(_ keys: KeyList, at place: Int) throws -> Data?

  /// Removes the keys one by one, as ``set(_:_:)`` does.
  func remove(_ keys: KeyList) throws

  /// Waits for what is done in the background.
  func settle() throws

  func close() throws
}
