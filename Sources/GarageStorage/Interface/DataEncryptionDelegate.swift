public import Foundation

/// Encrypts objects before they are stored, and decrypts them.
///
/// Covers each object's JSON. Type names, identifiers and sync statuses stay readable, because objects are found by
/// them. A content identifier is a digest, which can confirm a guess of the content.
///
/// Called on the threads that use the garage, concurrently if it is used so, and on the garage's own threads for long
/// chains of objects. It must not use the garage.
public protocol DataEncryptionDelegate: AnyObject {
  /// Returns the encrypted form of an object's JSON. Its error becomes that of the parking.
  func encrypt(_ data: Data) throws -> String

  /// Returns the decrypted JSON. Its error becomes that of the retrieval.
  func decrypt(_ string: String) throws -> Data
}
