package import Foundation

/// Objects in the archives that `NSKeyedArchiver` writes.
package enum KeyedArchive {
  /// - Throws: what the archiver reports, or, on Linux, ``UnnamedClassError``.
  package static func data(of object: any NSCoding) throws -> Data {
    #if !canImport(Darwin)
      // Foundation here ends the process when it meets a class that it has no name for.
      let name = String(reflecting: type(of: object))
      guard name.split(separator: ".").count == 2 else { throw UnnamedClassError(name) }
    #endif
    return try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
  }

  /// - Throws: what the unarchiver reports, or `CocoaError.coderReadCorrupt` if the archive holds another class.
  package static func object<Object: NSCoding>(_ type: Object.Type, from data: Data) throws -> Object {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.requiresSecureCoding = false
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    defer { unarchiver.finishDecoding() }
    let object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
    if let error = unarchiver.error { throw error }
    if let object = object as? Object { return object }
    // On Linux the unarchiver hands out Swift values for some of Foundation's classes.
    if let object = object.flatMap(FoundationObject.bridging) as? Object { return object }
    throw CocoaError(.coderReadCorrupt)
  }
}
