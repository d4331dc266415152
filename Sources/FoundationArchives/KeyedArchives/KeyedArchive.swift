import CBORCoding
package import Foundation

/// Objects in the archives that `NSKeyedArchiver` writes.
package enum KeyedArchive {
  /// - Throws: what the archiver reports, or, on Linux, ``UnnamedClassError``, and what the archiver would end the process
  ///   for in an object inside.
  package static func data(of object: any NSCoding) throws -> Data {
    #if !canImport(Darwin)
      // Foundation here ends the process when it meets a class that it has no name for.
      let name = String(reflecting: type(of: object))
      guard name.split(separator: ".").count == 2 else { throw UnnamedClassError(name) }
      try CBORKeyedArchiver.rehearse(object)
    #endif
    return try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
  }

  /// - Throws: what the unarchiver reports, or `CocoaError.coderReadCorrupt` if the archive holds another class.
  package static func object<Object: NSCoding>(_ type: Object.Type, from data: Data) throws -> Object {
    let object = try root(of: data)
    if let object = object as? Object { return object }
    // On Apple's platforms the unarchiver hands out Swift values for some of Foundation's classes.
    if let object = object.flatMap(FoundationObject.bridging) as? Object { return object }
    throw CocoaError(.coderReadCorrupt)
  }

  /// Returns the root object of an archive, or `nil` if nil was archived, or on Apple's platforms an object that is not
  /// permitted.
  ///
  /// - Parameter permitted: Classes of which, and of whose subclasses, objects are made, or `nil` for any.
  /// - Throws: what went wrong first. Bytes that were damaged or made up are an error, never the end of the process.
  package static func root(of data: Data, permitted: [AnyClass]? = nil) throws -> Any? {
    #if canImport(Darwin)
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.requiresSecureCoding = permitted != nil
      unarchiver.decodingFailurePolicy = .setErrorAndReturn
      defer { unarchiver.finishDecoding() }
      let object =
        permitted.map { unarchiver.decodeObject(of: $0, forKey: NSKeyedArchiveRootObjectKey) }
        ?? unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
      if let error = unarchiver.error { throw error }
      return object
    #else
      return try KeyedArchiveReader.root(of: data, permitted: permitted)
    #endif
  }
}
