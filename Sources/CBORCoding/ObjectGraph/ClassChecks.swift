#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  struct ClassChecks {
    let allowed: AllowedClasses
    /// Objects that may still be checked.
    var limit: Int
    private var seen: Set<ObjectIdentifier> = []

    init(allowed: AllowedClasses, limit: Int) {
      self.allowed = allowed
      self.limit = limit
    }

    mutating func permit(_ object: AnyObject, isElement: Bool) -> Bool {
      // Iterative: collections may nest to any depth.
      var waiting: [AnyObject] = []
      guard permitAlone(object, isElement: isElement, &waiting) else { return false }
      while let element = waiting.popLast() {
        guard permitAlone(element, isElement: true, &waiting) else { return false }
      }
      return true
    }

    /// - Parameter waiting: Receives a collection's contents.
    private mutating func permitAlone(_ object: AnyObject, isElement: Bool, _ waiting: inout [AnyObject]) -> Bool {
      limit -= 1
      guard limit > 0 else { return false }
      let type: AnyClass = (object as? NSObject)?.classForCoder ?? Swift.type(of: object)
      guard isElement && CBORKeyedUnarchiver.isHarmless(type) || allowed.contains(type) else { return false }
      func add<Collection: NSObject>(_ elements: (Collection) -> [Any]) {
        guard seen.insert(ObjectIdentifier(object)).inserted else { return }
        for element in elements(unsafeDowncast(object, to: Collection.self)) { waiting.append(element as AnyObject) }
      }
      switch ClassTable.record(of: Swift.type(of: object)).pointee.form {
      case .array, .mutableArray: add { (array: NSArray) in FoundationElements.elements(of: array) }
      case .dictionary, .mutableDictionary:
        add { (dictionary: NSDictionary) in dictionary.allKeys + dictionary.allValues }
      case .set, .mutableSet, .countedSet: add { (set: NSSet) in FoundationElements.elements(of: set) }
      case .orderedSet, .mutableOrderedSet: add { (set: NSOrderedSet) in FoundationElements.elements(of: set) }
      default: break
      }
      return true
    }
  }
#endif
