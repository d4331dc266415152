#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  /// Checks the classes of an object that has been decoded, and of what is in it if it is a collection.
  struct ClassChecks {
    let allowed: AllowedClasses
    /// How many objects may still be looked at.
    var limit: Int
    private var seen: Set<ObjectIdentifier> = []

    init(allowed: AllowedClasses, limit: Int) {
      self.allowed = allowed
      self.limit = limit
    }

    mutating func permit(_ object: AnyObject, isElement: Bool) -> Bool {
      limit -= 1
      guard limit > 0 else { return false }
      let type: AnyClass = (object as? NSObject)?.classForCoder ?? Swift.type(of: object)
      guard isElement && CBORKeyedUnarchiver.isHarmless(type) || allowed.contains(type) else { return false }
      switch ClassTable.record(of: Swift.type(of: object)).pointee.form {
      case .array, .mutableArray:
        return permitAll(of: object) { (array: NSArray) in FoundationElements.elements(of: array) }
      case .dictionary, .mutableDictionary:
        return permitAll(of: object) { (dictionary: NSDictionary) in dictionary.allKeys + dictionary.allValues }
      case .set, .mutableSet, .countedSet:
        return permitAll(of: object) { (set: NSSet) in FoundationElements.elements(of: set) }
      case .orderedSet, .mutableOrderedSet:
        return permitAll(of: object) { (set: NSOrderedSet) in FoundationElements.elements(of: set) }
      default: return true
      }
    }

    private mutating func permitAll<Collection: NSObject>(
      of object: AnyObject, _ elements: (Collection) -> [Any]
    ) -> Bool {
      guard seen.insert(ObjectIdentifier(object)).inserted else { return true }
      for element in elements(unsafeDowncast(object, to: Collection.self)) {
        guard permit(element as AnyObject, isElement: true) else { return false }
      }
      return true
    }
  }
#endif
