#if !canImport(Darwin)
  import Foundation

  extension FoundationCoding {
    static let measures: [FoundationCoding] =
      [
        make(NSMeasurement.self, hashing: .broken) { measurement, coder in
          coder.encode(measurement.doubleValue, forKey: "value")
          coder.encode(measurement.unit as Any?, forKey: "unit")
        } decode: { coder in
          let value = coder.decodeDouble(forKey: "value")
          return coder.decodeObject(of: Unit.self, forKey: "unit").map { NSMeasurement(doubleValue: value, unit: $0) }
        },
        make(Unit.self, hashing: .broken) { unit, coder in
          coder.encode(unit.symbol as String?, forKey: "symbol")
        } decode: { coder in
          coder.string(forKey: "symbol").map { Unit(symbol: $0) }
        },
        make(UnitConverterLinear.self) { converter, coder in
          coder.encode(converter.coefficient, forKey: "coefficient")
          coder.encode(converter.constant, forKey: "constant")
        } decode: { coder in
          guard coder.containsValue(forKey: "coefficient") else { return nil }
          return UnitConverterLinear(
            coefficient: coder.decodeDouble(forKey: "coefficient"), constant: coder.decodeDouble(forKey: "constant"))
        },
        dimension(Dimension.self), dimension(UnitAcceleration.self), dimension(UnitAngle.self),
        dimension(UnitArea.self), dimension(UnitConcentrationMass.self), dimension(UnitDispersion.self),
        dimension(UnitDuration.self), dimension(UnitElectricCharge.self), dimension(UnitElectricCurrent.self),
        dimension(UnitElectricPotentialDifference.self), dimension(UnitElectricResistance.self),
        dimension(UnitEnergy.self), dimension(UnitFrequency.self),
        dimension(
          UnitFuelEfficiency.self,
          known: [
            UnitFuelEfficiency.litersPer100Kilometers, UnitFuelEfficiency.milesPerGallon,
            UnitFuelEfficiency.milesPerImperialGallon,
          ]),
        dimension(UnitIlluminance.self), dimension(UnitInformationStorage.self), dimension(UnitLength.self),
        dimension(UnitMass.self), dimension(UnitPower.self), dimension(UnitPressure.self), dimension(UnitSpeed.self),
        dimension(UnitTemperature.self), dimension(UnitVolume.self),
      ]

    /// A class of units.
    ///
    /// - Parameter known: Units whose converter Foundation keeps to itself, which their symbol stands for.
    private static func dimension<Kind: Dimension>(_ type: Kind.Type, known: [Kind] = []) -> FoundationCoding {
      make(type, hashing: .broken) { unit, coder in
        coder.encode(unit.symbol as String?, forKey: "symbol")
        guard !known.contains(where: { $0.symbol == unit.symbol && $0 == unit }) else { return }
        coder.encode(unit.converter as Any?, forKey: "converter")
      } decode: { coder in
        guard let symbol = coder.string(forKey: "symbol") else { return nil }
        guard coder.containsValue(forKey: "converter") else { return known.first { $0.symbol == symbol } }
        return coder.decodeObject(of: UnitConverterLinear.self, forKey: "converter").map {
          type.init(symbol: symbol, converter: $0)
        }
      }
    }
  }
#endif
